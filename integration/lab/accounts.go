package lab

// useAccounts lets the children see User and ftp as accounts of the system, with the served folder
// as home, and PAM check passwords against the file htpasswd. The system's own accounts stay
// untouched: the children get them in a mount namespace of their own.
func (p *process) useAccounts() error {
	if err := p.config("passwd", "group", "pam-service", "accounts"); err != nil {
		return err
	}
	if err := p.mkdir("pam.d", 0o755); err != nil {
		return err
	}
	// The name for vsftpd, and those that in.rlogind, login(1) and sshd have built in.
	for _, name := range []string{"urlget-lab", "rlogin", "login", "sshd"} {
		if err := p.link("pam-service", "pam.d/"+name); err != nil {
			return err
		}
	}
	p.wrapper = []string{"unshare", "--mount", "--propagation", "private", "@DIR@/accounts"}
	return nil
}
