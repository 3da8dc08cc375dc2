"""Pattern catalogues, one TOML file a program. See docs/patterns.md for how to add a wording."""
