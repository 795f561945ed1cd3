// Package protocols registers every built-in driver: the one place that names
// them all. A program that wants only some passes their Load functions to
// fetch.New instead, and links nothing else.
package protocols

import (
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/cso"
	"github.com/urlget/urlget/protocols/data"
	"github.com/urlget/urlget/protocols/dict"
	"github.com/urlget/urlget/protocols/external"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/finger"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/inert"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/mailto"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/mounted"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/prospero"
	"github.com/urlget/urlget/protocols/telnet"
	"github.com/urlget/urlget/protocols/wais"
	"github.com/urlget/urlget/protocols/whois"
)

// Config holds driver options, one pointer for each driver package; nil means
// its defaults.
type Config struct {
	External *external.Options
	File     *file.Options
	FTP      *ftp.Options
	Gopher   *gopher.Options
	HTTP     *http.Options
	LDAP     *ldap.Options
	Mailto   *mailto.Options
	Mid      *mid.Options
	Mounted  *mounted.Options
	NNTP     *nntp.Options
	Prospero *prospero.Options
	Telnet   *telnet.Options
	WAIS     *wais.Options
}

// All registers every built-in driver with its defaults.
func All(env *fetch.Env, reg *fetch.Registry) { With(Config{})(env, reg) }

// With is All with driver options.
func With(cfg Config) fetch.Loader {
	return func(env *fetch.Env, reg *fetch.Registry) {
		cso.Load(env, reg)
		data.Load(env, reg)
		dict.Load(env, reg)
		external.With(orZero(cfg.External))(env, reg)
		file.With(orZero(cfg.File))(env, reg)
		finger.Load(env, reg)
		ftp.With(orZero(cfg.FTP))(env, reg)
		gopher.With(orZero(cfg.Gopher))(env, reg)
		http.With(orZero(cfg.HTTP))(env, reg)
		inert.Load(env, reg)
		ldap.With(orZero(cfg.LDAP))(env, reg)
		mailto.With(orZero(cfg.Mailto))(env, reg)
		mid.With(orZero(cfg.Mid))(env, reg)
		mounted.With(orZero(cfg.Mounted))(env, reg)
		nntp.With(orZero(cfg.NNTP))(env, reg)
		prospero.With(orZero(cfg.Prospero))(env, reg)
		telnet.With(orZero(cfg.Telnet))(env, reg)
		wais.With(orZero(cfg.WAIS))(env, reg)
		whois.Load(env, reg)
	}
}

// orZero returns what p points to; nil stands for the defaults.
func orZero[T any](p *T) T {
	if p == nil {
		p = new(T)
	}
	return *p
}
