"""Charts as plain SVG: text stays text, shapes carry the meaning, colours come from the page's style."""
