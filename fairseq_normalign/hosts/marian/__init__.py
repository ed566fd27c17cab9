"""Models of Marian, Firefox Translations and CTranslate2 (Argos, LibreTranslate, OpenNMT), the third host."""
