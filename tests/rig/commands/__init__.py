"""Commands of xplock, run in this process or in another one."""
