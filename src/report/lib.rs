//! Result tables and pictures: one plotting style, tables in four formats, claims, the report page.
