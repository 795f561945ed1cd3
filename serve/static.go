package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed static
var static embed.FS

type asset struct {
	kind          string
	plain, zipped []byte
}

// assets are the style sheets and scripts by their names. Their path contains a hash of all of them, so
// that browsers keep them until another version of the program runs.
type assets struct {
	path  string // with slashes at both ends
	files map[string]asset
}

var staticFiles = sync.OnceValue(func() assets {
	a := assets{files: make(map[string]asset)}
	hash := sha256.New()
	for _, pattern := range []string{"static/*.css", "static/*.js"} {
		names, err := fs.Glob(static, pattern)
		if err != nil {
			panic(err) // the pattern is fixed
		}
		for _, name := range names {
			text := embedded(name)
			if name == "static/app.css" {
				text = append(text, iconRules()...)
			}
			hash.Write(text)
			var zipped bytes.Buffer
			z := gzip.NewWriter(&zipped)
			z.Write(text) // a bytes.Buffer accepts everything
			z.Close()
			a.files[path.Base(name)] = asset{mime.FormatMediaType(contentTypes[path.Ext(name)],
				map[string]string{"charset": "utf-8"}), text, zipped.Bytes()}
		}
	}
	a.path = "/static/" + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:9]) + "/"
	return a
})

// contentTypes does not depend on the MIME types of the machine.
var contentTypes = map[string]string{".css": "text/css", ".js": "text/javascript"}

func embedded(name string) []byte {
	text, err := static.ReadFile(name)
	if err != nil {
		panic(err) // the names are those of embedded files
	}
	return text
}

// iconRules returns the rules of the icons. They are part of the style sheet, because each file of its own
// would be a request.
func iconRules() []byte {
	names, err := fs.Glob(static, "static/icons/*.svg")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	quote := strings.NewReplacer(`"`, "'", "#", "%23", "<", "%3C", ">", "%3E", "\n", "")
	var rules []byte
	for _, name := range names {
		rules = append(rules, ".icon-"+strings.TrimSuffix(path.Base(name), ".svg")+
			` { --icon: url("data:image/svg+xml,`+quote.Replace(string(embedded(name)))+`"); }`+"\n"...)
	}
	return rules
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	file, ok := staticFiles().files[r.PathValue("name")]
	if !ok || !strings.HasPrefix(r.URL.Path, staticFiles().path) {
		http.NotFound(w, r)
		return
	}
	h, text := w.Header(), file.plain
	h.Set("Content-Type", file.kind)
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		text = file.zipped
	}
	w.Write(text)
}

func acceptsGzip(values []string) bool {
	for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(weight, "q=0.") != "" || weight == ""
		}
	}
	return false
}
