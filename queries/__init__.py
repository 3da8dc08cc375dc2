"""Questions, one documented SQL file each. See docs/questions.md for how to add one."""
