"""More text for a teacher to answer: copies of rows with some words altered, a file for each way."""
