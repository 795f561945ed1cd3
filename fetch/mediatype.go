package fetch

import (
	"path"
	"strings"
	"sync"
)

// mediaTypes maps file name extensions to media types. The tables of operating systems differ, and
// reading them takes longer than reading most files.
var mediaTypes = sync.OnceValue(func() map[string]string {
	return map[string]string{
		".7z":    "application/x-7z-compressed",
		".avif":  "image/avif",
		".bmp":   "image/bmp",
		".bz2":   "application/x-bzip2",
		".css":   "text/css",
		".csv":   "text/csv",
		".deb":   "application/vnd.debian.binary-package",
		".eml":   "message/rfc822",
		".epub":  "application/epub+zip",
		".gif":   "image/gif",
		".gz":    "application/gzip",
		".htm":   "text/html",
		".html":  "text/html",
		".ico":   "image/vnd.microsoft.icon",
		".iso":   "application/vnd.efi.iso",
		".jpeg":  "image/jpeg",
		".jpg":   "image/jpeg",
		".js":    "text/javascript",
		".json":  "application/json",
		".md":    "text/markdown",
		".mjs":   "text/javascript",
		".mp3":   "audio/mpeg",
		".mp4":   "video/mp4",
		".oga":   "audio/ogg",
		".ogg":   "audio/ogg",
		".ogv":   "video/ogg",
		".opus":  "audio/ogg",
		".pdf":   "application/pdf",
		".png":   "image/png",
		".ps":    "application/postscript",
		".rtf":   "application/rtf",
		".svg":   "image/svg+xml",
		".tar":   "application/x-tar",
		".tgz":   "application/gzip",
		".tif":   "image/tiff",
		".tiff":  "image/tiff",
		".tsv":   "text/tab-separated-values",
		".txt":   "text/plain",
		".wasm":  "application/wasm",
		".wav":   "audio/wav",
		".webm":  "video/webm",
		".webp":  "image/webp",
		".woff":  "font/woff",
		".woff2": "font/woff2",
		".xhtml": "application/xhtml+xml",
		".xml":   "application/xml",
		".xz":    "application/x-xz",
		".yaml":  "application/yaml",
		".yml":   "application/yaml",
		".zip":   "application/zip",
		".zst":   "application/zstd",
	}
})

// TypeByName returns the media type for the extension of a file name, or "". The result does not
// depend on the operating system. It is for drivers of protocols without media types.
func TypeByName(name string) string { return mediaTypes()[strings.ToLower(path.Ext(name))] }
