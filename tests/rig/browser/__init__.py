"""A real browser: headless Chromium, driven through WebDriver."""
