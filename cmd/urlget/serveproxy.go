package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

func serveProxy(ctx context.Context, n *network, addr string) error {
	own, err := n.untrustedOptions() // any page in a browser can cause a request
	if err != nil {
		return err
	}
	p := &fetchhttp.Proxy{Downgrade: n.opts.Serve.Downgrade, Logger: own.Logger}
	if file := n.opts.Serve.Login; file != "" {
		if p.Login, err = readLogin(file); err != nil {
			return err
		}
	}
	if dir := n.opts.Serve.Authority; dir != "" {
		if p.Authority, err = fetchhttp.LoadAuthority(dir); err != nil {
			return failure.File(err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return failure.File(err)
	}
	own.Proxy = fetchhttp.ProxyExcept(own.Proxy, l.Addr())
	p.Client = n.clientWith(own)
	defer p.Client.Close()
	if o := n.opts.Archive; !o.ReplayOnly && o.At.IsZero() { // a tunnel leads to the present server
		tunnels, policy := *own, *own.Policy
		policy.AllowSessions, policy.AllowPorts = true, append(slices.Clone(policy.AllowPorts), 80)
		tunnels.Policy, tunnels.Timeouts.Idle = &policy, -1
		tunnels.Recorder, tunnels.Middleware = nil, nil // the content is encrypted
		p.Tunnels = fetch.New(&tunnels, fetchhttp.LoadTunnel)
		defer p.Tunnels.Close()
	}
	if err := announce(n.rep.std.out, l, fetchhttp.Address(l.Addr().String())); err != nil {
		return err
	}
	return failure.File(p.Serve(ctx, l))
}

// readLogin reads USER:PASSWORD from the first line of a file. Its errors do not show the name of a file
// that does not exist, which may be a login.
func readLogin(name string) (*fetch.Credential, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure.Hinted("--require-login: the file does not exist",
			"write USER:PASSWORD into a file that only you can read (mode 0600)")
	}
	if err != nil {
		return nil, failure.File(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, failure.File(err)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, failure.Hinted("--require-login: other users can read or change "+name, "chmod 600 "+name)
	}
	line, err := flags.ReadLine(f)
	if err != nil && err != io.EOF {
		return nil, failure.File(err)
	}
	user, password, ok := strings.Cut(line, ":")
	if !ok || user == "" || password == "" {
		return nil, failure.Usagef("--require-login: the first line of %s must be USER:PASSWORD", name)
	}
	return &fetch.Credential{User: user, Password: password}, nil
}
