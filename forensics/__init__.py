"""Answer where the gigabytes went, from logs and telemetry of self-hosted LLM servers."""

__version__ = "0.1.0"
