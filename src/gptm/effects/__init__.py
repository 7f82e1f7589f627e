"""What side information does to the topics, with bands."""
