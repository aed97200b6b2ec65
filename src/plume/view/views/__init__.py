"""One file a view; its `PANEL` names the script that draws it (scripts/NAME.js) and holds its words."""
