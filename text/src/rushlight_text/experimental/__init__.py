"""The former path of what became `rushlight_text.prototype`."""
