"""ddbsim: a DynamoDB partition simulator."""
