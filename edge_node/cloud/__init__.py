"""The line to the cloud: joining, questions and answers, summaries and memories in order."""
