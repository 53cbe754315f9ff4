"""What stands between the application and the table: retries and their quota, breaker, limiters, resending of batches.

State machines with time and chance as arguments; none reads a clock or draws a number. One object of each per SDK client, except
policies, which hold no state and may be shared.
"""
