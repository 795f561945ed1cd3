package main

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/protocols/http/hsts"
)

// openHSTS loads the hosts that want https only, and saves them at the end of the run. URLs of archives
// stay as they are there. A file that the user did not name may be unusable, for instance in a home
// directory that cannot be written; only --verbose tells.
func (n *network) openHSTS() error {
	o := n.opts
	named := o.HSTS.File != ""
	file := cmp.Or(o.HSTS.File, flags.DefaultHSTSFile())
	a := &o.Archive
	if o.HSTS.Off || file == "" || a.Replay != nil || a.Offline || !a.At.IsZero() || o.Lock.File != "" {
		return nil
	}
	n.hsts = &hsts.Store{}
	report := func(err error) error {
		if err == nil || named {
			return failure.File(err)
		}
		n.rep.con.Logger(o.Report.Verbose).Debug("hosts that want https only", "error", err)
		return nil
	}
	n.atEnd(func() error { return report(n.hsts.Save(file)) })
	if err := n.hsts.Load(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return report(err)
	}
	return nil
}
