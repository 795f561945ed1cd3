package lab

import "strings"

// samba is smbd, which shares the tree as lab, for [User] alone, and as sealed, which it encrypts. It
// signs whatever a client wants signed. It need not tell of its shares: that takes a daemon that
// smbd starts in the container alone.
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

// sambaEncrypted is samba once for each cipher of SMB 3.1.1, with that alone and for all that is
// said. Its ports have the names of the ciphers.
var sambaEncrypted = &service{
	name:      "samba-encrypted",
	container: "samba",
	ports: []port{
		{name: "AES-128-GCM", published: 28211, greeting: greeting{send: sambaHello, want: "\x00\x00"}},
		{name: "AES-128-CCM", published: 28212, greeting: greeting{send: sambaHello, want: "\x00\x00"}},
		{name: "AES-256-GCM", published: 28213, greeting: greeting{send: sambaHello, want: "\x00\x00"}},
		{name: "AES-256-CCM", published: 28214, greeting: greeting{send: sambaHello, want: "\x00\x00"}},
	},
	accounts: true,
	programs: samba.programs,
	asRoot:   true,
	mounts:   true,
	start: func(p *process) error {
		p.values["PORT_SMB"] = p.values[portValue(p.ports[0].name)] // each has an option with its own
		if err := p.configureSamba(); err != nil {
			return err
		}
		for _, port := range p.ports {
			if err := p.spawnSamba("@DIR@/samba/"+port.name, "@"+portValue(port.name)+"@",
				"server smb encrypt=required", "server smb3 encryption algorithms="+port.name); err != nil {
				return err
			}
		}
		return nil
	},
}

// configureSamba writes what smbd reads.
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

// spawnSamba starts smbd with a folder of its own, on a port, and with options.
func (p *process) spawnSamba(dir, port string, options ...string) error {
	args := []string{"-c", `dir=$1; shift; mkdir -p "$dir"; exec "$0" "$@" </dev/null`, // it ends when a pipe is its standard input and has no more
		p.programs["smbd"], dir, "-F", "--no-process-group", "-s", "@DIR@/smb.conf"}
	for _, name := range []string{"lock", "state", "cache", "pid"} {
		options = append(options, name+" directory="+dir)
	}
	for _, o := range append(options, "ncalrpc dir="+dir+"/ncalrpc", "smb ports="+port) {
		args = append(args, "--option="+o)
	}
	return p.spawn("sh", args...)
}

// sambaHello is a NEGOTIATE of dialect 2.1 ([MS-SMB2], section 2.2.3).
var sambaHello = "\x00\x00\x00\x66\xfeSMB\x40" + strings.Repeat("\x00", 9) + "\x01" + strings.Repeat("\x00", 49) +
	"\x24\x00\x01\x00\x01" + strings.Repeat("\x00", 7) + strings.Repeat("a", 16) + strings.Repeat("\x00", 8) + "\x10\x02"
