"""Speed, beside other engines: `make bench`. Every table is measured in one run; compile time stands apart."""
