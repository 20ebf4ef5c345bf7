"""The engine: contact modes as data over kernels of bodies, contacts and laws."""
