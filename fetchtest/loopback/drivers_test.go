package loopback

import (
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/cso"
	"github.com/urlget/urlget/protocols/dict"
	"github.com/urlget/urlget/protocols/finger"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/nex"
	"github.com/urlget/urlget/protocols/nfs"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/prospero"
	"github.com/urlget/urlget/protocols/rsync"
	"github.com/urlget/urlget/protocols/spartan"
	"github.com/urlget/urlget/protocols/telnet"
	"github.com/urlget/urlget/protocols/tftp"
	"github.com/urlget/urlget/protocols/wais"
	"github.com/urlget/urlget/protocols/whois"
)

// drivers registers the drivers that these tests use. Package protocols would link all others too.
func drivers(env fetch.Env, reg *fetch.Registry) {
	for _, load := range []fetch.Loader{
		cso.Load,
		dict.Load,
		finger.Load,
		ftp.Load,
		gemini.Load,
		gopher.Load,
		http.Load,
		imap.Load,
		nex.Load,
		nfs.Load,
		nntp.Load,
		pop.Load,
		prospero.Load,
		rsync.Load,
		spartan.Load,
		telnet.Load,
		tftp.Load,
		wais.Load,
		whois.Load,
	} {
		load(env, reg)
	}
}
