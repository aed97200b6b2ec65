"""The sections of the report, one file each: records in, blocks out."""
