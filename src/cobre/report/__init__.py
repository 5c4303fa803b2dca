"""Tables and figures of what a run left on disk: a page to read, pictures, charts in notebooks."""
