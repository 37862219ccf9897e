"""A fit -> one HTML page: tables, figures, animation; nothing is loaded from elsewhere."""
