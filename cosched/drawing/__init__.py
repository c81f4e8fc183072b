"""Pictures as SVG: Gantt charts and line plots; knows no task and no plan."""
