package sftp

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/sftp/internal/sshconfig"
)

// A route is the list of hosts to connect through to reach a server, and the users to log in as.
type route struct {
	hops []hop // the server is the last one
	// foreign is set for foreign requests (see fetch.Env.Foreign). They do not use keys, the agent
	// or the user's configuration, because a ProxyJump would bypass the policy on addresses.
	foreign bool
}

type hop struct {
	host     string
	port     uint16
	user     string         // "" if the credentials must supply it
	url      uri.URI        // the URL to request credentials for
	settings sshconfig.Host // with the names of files expanded
}

const maxHops = 8

func (d *opener) route(t *target, foreign bool) (*route, error) {
	u := t.url
	if foreign {
		return &route{foreign: true,
			hops: []hop{{host: u.Host(), port: u.Port(defaultPort), user: t.login.Name, url: u}}}, nil
	}
	cfg, err := d.config()
	if err != nil {
		return nil, err
	}
	settings := cfg.Lookup(u.Host())
	server := d.hop(u.Host(), u.Port(0), t.login.Name, settings, u)
	p := &route{}
	if len(settings.ProxyJump) >= maxHops {
		return nil, settingsError("ProxyJump names %d hosts", len(settings.ProxyJump))
	}
	for _, text := range settings.ProxyJump {
		text = strings.TrimPrefix(strings.TrimSpace(text), "ssh://")
		jump, err := uri.Parse("sftp://" + text)
		if err != nil || jump.Host() == "" || jump.URLPath() != "" {
			return nil, settingsError("ProxyJump: %q is not [user@]host[:port]", text)
		}
		name, _ := jump.User()
		p.hops = append(p.hops, d.hop(jump.Host(), jump.Port(0), name, cfg.Lookup(jump.Host()), jump))
	}
	p.hops = append(p.hops, server)
	return p, nil
}

// hop combines the settings for a host in its URL and the configuration file. The URL takes
// precedence.
func (d *opener) hop(host string, port uint16, user string, settings sshconfig.Host, u uri.URI) hop {
	h := hop{
		host: cmp.Or(settings.HostName, host),
		port: cmp.Or(port, settings.Port, defaultPort),
		user: cmp.Or(user, settings.User, d.opts.User, localUser()),
		url:  u,
	}
	h.settings = settings
	h.settings.IdentityFiles = expandFiles(settings.IdentityFiles, host, h)
	h.settings.CertificateFiles = expandFiles(settings.CertificateFiles, host, h)
	h.settings.IdentityAgent = expandFile(settings.IdentityAgent, host, h)
	return h
}

// expandFiles returns nil only without a setting. The word "none" disables the default files.
func expandFiles(names []string, host string, h hop) []string {
	if names == nil {
		return nil
	}
	files := []string{}
	for _, name := range names {
		if !strings.EqualFold(name, "none") {
			files = append(files, expandFile(name, host, h))
		}
	}
	return files
}

func expandFile(name, host string, h hop) string {
	home, _ := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(home, rest)
	}
	return strings.NewReplacer("%%", "%", "%d", home, "%h", h.host, "%n", host, "%p",
		strconv.Itoa(int(h.port)),
		"%r", h.user, "%u", localUser()).Replace(name)
}

func localUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username[strings.LastIndexByte(u.Username, '\\')+1:]
	}
	return os.Getenv("USER")
}

func (d *opener) config() (*sshconfig.Config, error) {
	name := d.opts.Config
	if d.opts.NoConfig {
		return &sshconfig.Config{}, nil
	}
	if name == "" {
		name = sshFile("config")
	}
	f, err := os.Open(name)
	switch {
	case name == "", d.opts.Config == "" && errors.Is(err, fs.ErrNotExist):
		return &sshconfig.Config{}, nil
	case err != nil:
		return nil, settingsError("%w", err)
	}
	defer f.Close()
	home, _ := os.UserHomeDir()
	cfg, err := sshconfig.Parse(f, home)
	if err != nil {
		return nil, settingsError("%s: %w", name, err)
	}
	return cfg, nil
}

func sshFile(name string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".ssh", name)
}

func settingsError(format string, args ...any) error {
	return fetch.ErrFile.Errorf(format, args...)
}
