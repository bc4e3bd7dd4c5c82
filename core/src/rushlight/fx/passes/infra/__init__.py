"""What pipelines of passes are made of: passes, their order, and parts of graphs for backends."""
