package lab

// vsftpd listens on two ports: with AUTH TLS and with implicit TLS. It requires data connections to
// reuse the TLS session. It has no MLSD and no UTF8.
var vsftpd = &service{
	name: "vsftpd",
	ports: []port{
		{name: "plain", published: 28100, greeting: greeting{want: "urlget lab, vsftpd"}},
		{name: "tls", published: 28101, greeting: greeting{tls: true, want: "urlget lab, vsftpd"}},
	},
	accounts: true,
	programs: []string{"vsftpd"},
	asRoot:   true,
	mounts:   true,
	start: func(p *process) error {
		if err := p.useAccounts(); err != nil {
			return err
		}
		if err := p.mkdir("empty", 0o555); err != nil {
			return err
		}
		if err := p.config("vsftpd.conf"); err != nil {
			return err
		}
		// Options on the command line override the file's.
		if err := p.spawn("vsftpd", "@DIR@/vsftpd.conf",
			"-olisten_port=@PORT_PLAIN@", "-ovsftpd_log_file=@DIR@/log/plain.log"); err != nil {
			return err
		}
		return p.spawn("vsftpd", "@DIR@/vsftpd.conf", "-oimplicit_ssl=YES",
			"-olisten_port=@PORT_TLS@", "-ovsftpd_log_file=@DIR@/log/tls.log")
	},
}
