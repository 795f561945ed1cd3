package lab

import "strings"

// samba is smbd, which shares the tree as lab, for [User] alone. It signs whatever a client wants
// signed. It need not tell of its shares: that takes a daemon that
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
		if err := p.useAccounts(); err != nil {
			return err
		}
		if err := p.mkdir("samba", 0o755); err != nil {
			return err
		}
		if err := p.config("smb.conf"); err != nil {
			return err
		}
		if err := p.run(Password+"\n"+Password+"\n", "smbpasswd", "-c", "@DIR@/smb.conf", "-s", "-a", "@USER@"); err != nil {
			return err
		}
		// It ends when a pipe is its standard input and has no more.
		return p.spawn("sh", "-c", `exec "$0" "$@" </dev/null`, p.programs["smbd"], "-F", "--no-process-group", "-s", "@DIR@/smb.conf")
	},
}

// sambaHello is a NEGOTIATE of dialect 2.1 ([MS-SMB2], section 2.2.3).
var sambaHello = "\x00\x00\x00\x66\xfeSMB\x40" + strings.Repeat("\x00", 9) + "\x01" + strings.Repeat("\x00", 49) +
	"\x24\x00\x01\x00\x01" + strings.Repeat("\x00", 7) + strings.Repeat("a", 16) + strings.Repeat("\x00", 8) + "\x10\x02"
