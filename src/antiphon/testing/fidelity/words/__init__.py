"""What callers ask and what models' servers say, in the shapes that their documentation gives."""
