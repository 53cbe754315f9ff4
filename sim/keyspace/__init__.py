"""Where traffic lies in the hash space: templates and fields become a Spread; key ranges; cutting and sizing them."""
