"""The conformance checker on Apache Spark."""
