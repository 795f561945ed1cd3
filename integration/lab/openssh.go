package lab

import "os"

// openssh is sshd with its internal SFTP server. Its host key is [Key]. Clients can log in with
// that key or with the password. Users start in the served folder and can leave it.
var openssh = &service{
	name: "openssh",
	ports: []port{
		{name: "ssh", published: 28199, greeting: greeting{want: "SSH-2.0-OpenSSH"}},
	},
	accounts: true,
	programs: []string{"sshd", "ssh-keygen"},
	asRoot:   true,
	mounts:   true,
	start: func(p *process) error {
		if err := p.useAccounts(); err != nil {
			return err
		}
		if err := p.config("sshd_config", "sshdroom"); err != nil {
			return err
		}
		if err := p.write("hostkey", keyPEM, 0o600); err != nil {
			return err
		}
		if err := p.run("", "ssh-keygen", "-y", "-f", "@DIR@/hostkey"); err != nil {
			return err
		}
		// The output went to the log.
		if err := os.Rename(p.dir+"/log/ssh-keygen.out", p.dir+"/authorized_keys"); err != nil {
			return err
		}
		p.wrapper = append(p.wrapper, "@DIR@/sshdroom")
		return p.spawn("sshd", "-D", "-e", "-f", "@DIR@/sshd_config", "-p", "@PORT_SSH@")
	},
}
