"""Random problems of Coulomb's law at several contacts: `scenes` draws them, `siconos` solves them."""
