package lab

import "strings"

// samba is smbd with the tree as two shares: lab, for [User] only, and sealed, which requires
// encryption. It signs if the client requests that.
var samba = &service{
	name: "samba",
	ports: []port{
		{name: "smb", published: 28206, greeting: greeting{send: sambaHello, want: "\x00\x00"}},
	},
	accounts: true,
	programs: []string{"smbd", "smbpasswd"},
	asRoot:   true, // to become the user
	mounts:   true,
	start: func(p *process) error {
		if err := p.configureSamba(); err != nil {
			return err
		}
		return p.spawnSamba("@DIR@/samba", "@PORT_SMB@")
	},
}

// sambaVariants runs one smbd for each line of config/samba-variants. A line has the name of a port
// and options, which select an older dialect or a single algorithm for signing or encryption.
var sambaVariants = &service{
	name:      "samba-variants",
	container: "samba",
	ports:     variantPorts(),
	accounts:  true,
	programs:  samba.programs,
	asRoot:    true,
	mounts:    true,
	start: func(p *process) error {
		// each variant has an option with its own port
		p.values["PORT_SMB"] = p.values[portValue(p.ports[0].name)]
		if err := p.configureSamba(); err != nil {
			return err
		}
		for _, v := range variants() {
			if err := p.spawnSamba("@DIR@/samba/"+v[0], "@"+portValue(v[0])+"@", v[1:]...); err != nil {
				return err
			}
		}
		return nil
	},
}

// variants returns the fields of the lines of config/samba-variants.
func variants() (all [][]string) {
	text, err := config.ReadFile("config/samba-variants")
	if err != nil {
		panic(err) // the file is part of the package
	}
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Split(strings.TrimSpace(line), ";"))
	}
	return all
}

func variantPorts() (ports []port) {
	for i, v := range variants() {
		ports = append(ports, port{name: v[0], published: 28211 + i,
			greeting: greeting{send: sambaHello, want: "\x00\x00"}})
	}
	return ports
}

// configureSamba writes smbd's configuration.
func (p *process) configureSamba() error {
	if err := p.useAccounts(); err != nil {
		return err
	}
	if err := p.mkdir("samba", 0o755); err != nil {
		return err
	}
	if err := p.config("smb.conf"); err != nil {
		return err
	}
	return p.run(Password+"\n"+Password+"\n", "smbpasswd", "-c", "@DIR@/smb.conf", "-s", "-a", "@USER@")
}

// spawnSamba starts smbd with a folder, a port and options.
func (p *process) spawnSamba(dir, port string, options ...string) error {
	// it ends at the end of standard input if that is a pipe
	args := []string{"-c", `dir=$1; shift; mkdir -p "$dir"; exec "$0" "$@" </dev/null`,
		p.programs["smbd"], dir, "-F", "--no-process-group", "-s", "@DIR@/smb.conf"}
	for _, name := range []string{"lock", "state", "cache", "pid"} {
		options = append(options, name+" directory="+dir)
	}
	for _, o := range append(options, "ncalrpc dir="+dir+"/ncalrpc", "smb ports="+port) {
		args = append(args, "--option="+o)
	}
	return p.spawn("sh", args...)
}

// sambaHello is a NEGOTIATE request for the dialects 2.0.2 and 2.1 ([MS-SMB2], section 2.2.3).
var sambaHello = "\x00\x00\x00\x68\xfeSMB\x40" + strings.Repeat("\x00", 9) + "\x01" +
	strings.Repeat("\x00", 49) +
	"\x24\x00\x02\x00\x01" + strings.Repeat("\x00", 7) + strings.Repeat("a", 16) + strings.Repeat("\x00", 8) +
	"\x02\x02\x10\x02"
