// Package protocols registers every built-in driver. A program that needs only some drivers passes
// their Load functions to fetch.New instead, and links no others.
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
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/http/http3"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/ipfs"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/mailto"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/mounted"
	"github.com/urlget/urlget/protocols/nex"
	"github.com/urlget/urlget/protocols/nfs"
	"github.com/urlget/urlget/protocols/ni"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/prospero"
	"github.com/urlget/urlget/protocols/rsync"
	"github.com/urlget/urlget/protocols/s3"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/smb"
	"github.com/urlget/urlget/protocols/spartan"
	"github.com/urlget/urlget/protocols/telnet"
	"github.com/urlget/urlget/protocols/tftp"
	"github.com/urlget/urlget/protocols/unsupported"
	"github.com/urlget/urlget/protocols/wais"
	"github.com/urlget/urlget/protocols/whois"
	"github.com/urlget/urlget/protocols/ws"
	"github.com/urlget/urlget/protocols/z3950"
)

// Config holds driver options, one pointer per driver package. A nil pointer selects the defaults.
type Config struct {
	External *external.Options
	File     *file.Options
	FTP      *ftp.Options
	Gemini   *gemini.Options
	Gopher   *gopher.Options
	HTTP     *http.Options // if QUIC is nil and Protocols has HTTP3, http3.Over is used
	IMAP     *imap.Options
	IPFS     *ipfs.Options
	LDAP     *ldap.Options
	Mailto   *mailto.Options
	Mid      *mid.Options
	Mounted  *mounted.Options
	NFS      *nfs.Options
	NNTP     *nntp.Options
	POP      *pop.Options
	Prospero *prospero.Options
	S3       *s3.Options
	SFTP     *sftp.Options
	SMB      *smb.Options
	Telnet   *telnet.Options
	TFTP     *tftp.Options
	WAIS     *wais.Options
	WS       *ws.Options
	Z3950    *z3950.Options
}

// All registers every built-in driver with its defaults.
func All(env fetch.Env, reg *fetch.Registry) { With(Config{})(env, reg) }

// With returns a Loader that registers every built-in driver with the options in cfg.
func With(cfg Config) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		cso.Load(env, reg)
		data.Load(env, reg)
		dict.Load(env, reg)
		external.With(orZero(cfg.External))(env, reg)
		file.With(orZero(cfg.File))(env, reg)
		finger.Load(env, reg)
		ftp.With(orZero(cfg.FTP))(env, reg)
		gemini.With(orZero(cfg.Gemini))(env, reg)
		gopher.With(orZero(cfg.Gopher))(env, reg)
		web := orZero(cfg.HTTP)
		if web.Protocols&http.HTTP3 != 0 && web.QUIC == nil {
			web.QUIC = http3.Over
		}
		http.With(web)(env, reg)
		imap.With(orZero(cfg.IMAP))(env, reg)
		ipfs.With(orZero(cfg.IPFS))(env, reg)
		unsupported.Load(env, reg)
		ldap.With(orZero(cfg.LDAP))(env, reg)
		mailto.With(orZero(cfg.Mailto))(env, reg)
		mid.With(orZero(cfg.Mid))(env, reg)
		nex.Load(env, reg)
		nfs.With(orZero(cfg.NFS))(env, reg)
		mounted.With(orZero(cfg.Mounted))(env, reg) // after nfs, whose scheme it may replace
		ni.Load(env, reg)
		nntp.With(orZero(cfg.NNTP))(env, reg)
		pop.With(orZero(cfg.POP))(env, reg)
		prospero.With(orZero(cfg.Prospero))(env, reg)
		rsync.Load(env, reg)
		s3.With(orZero(cfg.S3))(env, reg)
		sftp.With(orZero(cfg.SFTP))(env, reg)
		smb.With(orZero(cfg.SMB))(env, reg)
		spartan.Load(env, reg)
		telnet.With(orZero(cfg.Telnet))(env, reg)
		tftp.With(orZero(cfg.TFTP))(env, reg)
		wais.With(orZero(cfg.WAIS))(env, reg)
		whois.Load(env, reg)
		ws.With(orZero(cfg.WS))(env, reg)
		z3950.With(orZero(cfg.Z3950))(env, reg)
	}
}

// Without returns a Loader like All, without the named schemes. Their URLs, including the targets
// of redirects and menus, then have an unknown scheme. It panics if a name is not registered,
// because a misspelt name would forbid nothing. To replace a driver, run All and then a Loader that
// calls Registry.Replace.
func Without(names ...string) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		All(env, reg)
		for _, name := range names {
			if _, ok := reg.Lookup(name); !ok {
				panic("protocols: Without of unknown scheme " + name)
			}
			reg.Remove(name)
		}
	}
}

// orZero returns *p, or the zero value if p is nil.
func orZero[T any](p *T) T {
	if p == nil {
		p = new(T)
	}
	return *p
}
