"""What a fit costs, measured side by side with other libraries: seconds, memory, quality, growth."""
