"""NS2, the default of Natural Selection 2 pools: logistic regression on time played by side and role."""
