"""Games that begin where a person has put everything: the scenes, and how the policy does in them."""
