package prospero

import (
	"mime"
	"path"
)

// mediaType guesses by the name, as Prospero does not tell.
func mediaType(name string) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
