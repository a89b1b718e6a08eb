"""TrueSkill and TrueSkill Through Time."""
