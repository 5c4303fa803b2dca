"""Generic constraints; `cobre.elements` says what each module holds."""
