"""What an answer, a retrieval, a routing or a judgement is worth: one pure function each, as the papers define it."""
