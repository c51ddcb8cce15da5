#!/usr/bin/env perl
# The smallest useful plug-in (docs/dev/plug-ins.md): instances have neither tags nor idempotency
# tokens, and cannot be stopped. Its cloud is a JSON file, as in file_cloud.py.
use strict;
use warnings;
use Fcntl qw(:flock);
use JSON::PP;

my $json = JSON::PP->new->canonical;
my ($cluster, $settings);
$| = 1;

# Calls its argument with the contents of the locked file, and writes them back.
sub cloud {
    my ($work) = @_;
    my $path = $settings->{state};
    open(my $lock, '>', "$path.lock") or die "$path.lock: $!\n";
    flock($lock, LOCK_EX) or die "$path.lock: $!\n";
    my $data = {machines => [], records => {}};
    if (open(my $file, '<', $path)) {
        local $/;
        $data = $json->decode(<$file>);
    }
    my $reply = $work->($data);
    open(my $file, '>', "$path.new") or die "$path.new: $!\n";
    print $file $json->encode($data);
    close($file) or die "$path.new: $!\n";
    rename("$path.new", $path) or die "$path: $!\n";
    return $reply;
}

sub hello {
    my ($asked) = @_;
    ($cluster, $settings) = @$asked{qw(cluster provider)};
    return {version => 1, name => 'small cloud'};
}

sub list {
    my %next = (pending => 'running', ending => 'gone');
    return cloud(sub {
        my ($data) = @_;
        $_->{state} = $next{$_->{state}} // $_->{state} for @{$data->{machines}};
        return {machines => $data->{machines}};
    });
}

sub swap {
    my ($asked) = @_;
    return cloud(sub {
        my $records = $_[0]{records};
        my $stored = $records->{$cluster} // '';
        $records->{$cluster} = $asked->{value} if $stored eq $asked->{expect};
        return {value => $records->{$cluster} // '', now => time};
    });
}

sub launch {
    my ($asked) = @_;
    my $type = $asked->{node_config}{InstanceType} // '';
    return cloud(sub {
        my ($data) = @_;
        my $used = grep { $_->{type} eq $type && $_->{state} ne 'gone' } @{$data->{machines}};
        my $free = ($settings->{limits}{$type} // 1000) - $used;
        return {error => 'capacity', message => "no $type is free"} if $free <= 0;
        my $count = $asked->{count} < $free ? $asked->{count} : $free;
        my @made = map { {id => sprintf('m-%08x', rand(2**32)), state => 'pending', type => $type,
            token => $asked->{token}, private_ip => '127.0.0.1'} } 1 .. $count;
        push @{$data->{machines}}, @made;
        return {machines => \@made};
    });
}

sub terminate {
    my %ids = map { $_ => 1 } @{$_[0]{ids}};
    return cloud(sub {
        my @found = grep { $ids{$_->{id}} } @{$_[0]{machines}};
        $_->{state} eq 'gone' or $_->{state} = 'ending' for @found;
        return @found == keys %ids ? {} : {error => 'not_found'};
    });
}

my %operations = (hello => \&hello, list => \&list, swap => \&swap, launch => \&launch,
    terminate => \&terminate);
while (my $line = <STDIN>) {
    my $asked = $json->decode($line);
    my $reply = $operations{$asked->{op}}->($asked);
    print $json->encode({%$reply, id => $asked->{id}}), "\n";
}
