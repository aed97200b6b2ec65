"""From text files to batches: corpus, store, layouts, collating. numpy only."""
