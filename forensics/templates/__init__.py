"""Pages of reports: templates and their style sheet."""
