package lab

// tftpdHPA supports the options tsize and blksize, but not windowsize.
var tftpdHPA = &service{
	name: "tftpd-hpa",
	ports: []port{
		{name: "plain", direct: 28197,
			greeting: greeting{anyPort: true, send: tftpNone, want: "\x00\x05\x00\x01"}},
	},
	programs: []string{"in.tftpd"},
	asRoot:   true, // to change its root
	start: func(p *process) error {
		return p.spawn("in.tftpd", "--foreground", "--address", "@HOST@:@PORT_PLAIN@", "--user", "nobody",
			"--secure", "@ROOT@")
	},
}

// atftpd supports windowsize too.
var atftpd = &service{
	name: "atftpd",
	ports: []port{
		{name: "plain", direct: 28198,
			greeting: greeting{anyPort: true, send: tftpNone, want: "\x00\x05\x00\x01"}},
	},
	programs: []string{"atftpd"},
	start: func(p *process) error {
		p.owner = nobody
		return p.spawn("atftpd", "--daemon", "--no-fork", "--bind-address", "@HOST@", "--port",
			"@PORT_PLAIN@",
			"--user", "nobody", "--group", "nogroup", "--logfile", "-", "@ROOT@")
	},
}

// tftpNone requests a missing file.
const tftpNone = "\x00\x01none\x00octet\x00"
