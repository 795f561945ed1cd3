package mirror_test

import (
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/nex"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/prospero"
	"github.com/urlget/urlget/protocols/spartan"
	"github.com/urlget/urlget/protocols/wais"
)

// drivers registers the drivers that these tests use. Package protocols would link all others too.
func drivers(env fetch.Env, reg *fetch.Registry) {
	for _, load := range []fetch.Loader{
		file.Load,
		ftp.Load,
		gemini.Load,
		gopher.Load,
		http.Load,
		nex.Load,
		nntp.Load,
		prospero.Load,
		spartan.Load,
		wais.Load,
	} {
		load(env, reg)
	}
}
