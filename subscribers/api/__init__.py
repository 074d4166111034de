"""The calls about readers and imports. They only translate, and decide nothing."""
