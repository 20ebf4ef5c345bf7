"""Random problems of Coulomb's law at several contacts, from bodies and points: `scenes` draws them, `siconos` solves them."""
